//go:build tools

// Package tools pins etcd for the testbed. Nothing of it is compiled into Porthole.
package tools

import (
	_ "go.etcd.io/etcd/server/v3"
)
