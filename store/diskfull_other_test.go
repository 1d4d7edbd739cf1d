//go:build !linux

package store_test

import "errors"

func childFull(string, string) error { return errors.New("only on linux") }
