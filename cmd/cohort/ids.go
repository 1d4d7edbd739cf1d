package main

import (
	"fmt"
	"strings"

	"cohort/placement"
	"cohort/store"
)

// parsedID is an id taken apart.
type parsedID struct {
	text  string
	brand placement.Brand
	mixed placement.Mixed
}

// parseIDs takes ids apart, as a store of a kind reads them.
func parseIDs(kind placement.Kind, ids []string) ([]parsedID, error) {
	parsed := make([]parsedID, len(ids))
	for i, id := range ids {
		if strings.TrimSpace(id) == "" {
			return nil, &placement.InvalidIDError{ID: id, Reason: "empty, or only blanks"}
		}
		brand, mixed, err := kind.Parse(id)
		if err != nil {
			return nil, err
		}
		parsed[i] = parsedID{id, brand, mixed}
	}
	return parsed, nil
}

// checkBrands returns an error unless all ids are of the event's brand; any are
// of an event never written.
func checkBrands(snap *store.Snapshot, event string, ids []parsedID) error {
	e, ok, err := snap.Event(event)
	if err != nil || !ok {
		return err
	}
	for _, id := range ids {
		if id.brand != e.Brand {
			return &store.BrandError{Event: event, EventBrand: e.Brand, ID: id.text, OffendBrand: id.brand}
		}
	}
	return nil
}

// oneBrand returns an error unless all ids are of one brand.
func oneBrand(ids []parsedID) error {
	for _, id := range ids {
		if first := ids[0]; id.brand != first.brand {
			return fmt.Errorf("%w: %q is of %v, %q of %v, and an event takes ids of one brand",
				store.ErrOtherBrand, first.text, first.brand, id.text, id.brand)
		}
	}
	return nil
}

// brandName returns a brand for JSON and tables: nil for the nameless one.
func brandName(b placement.Brand) *string {
	if b.IsZero() {
		return nil
	}
	s := b.String()
	return &s
}
