//go:build !linux

package main

import "errors"

func fileSystem(string) string { return "unknown" }

func evict(string) error { return errors.ErrUnsupported }

func diskWritten(string) (int64, error) { return 0, errors.ErrUnsupported }
