//go:build tools

// Package registry pins the image registry that the tests push to and pull from.
package registry

import (
	_ "github.com/distribution/distribution/v3/cmd/registry"
)
