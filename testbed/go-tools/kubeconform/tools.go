//go:build tools

// Package tools pins kubeconform, the peer of `cargo xtask bench check`. Nothing of it is compiled into Porthole.
package tools

import (
	_ "github.com/yannh/kubeconform/cmd/kubeconform"
)
