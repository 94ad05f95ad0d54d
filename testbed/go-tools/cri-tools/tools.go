//go:build tools

// Package tools pins cri-tools for the testbed. Nothing of it is compiled into Porthole.
package tools

import (
	_ "sigs.k8s.io/cri-tools/cmd/crictl"
	_ "sigs.k8s.io/cri-tools/cmd/critest"
)
