// Package store keeps marks on disk: one roaring bitmap per event and day.
package store
