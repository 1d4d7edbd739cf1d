package placement_test

import (
	"errors"
	"fmt"

	"cohort/placement"
)

// An id is parsed, placed, and had back from its placement and residue.
func Example() {
	id, err := placement.ParseBranded("USR0KHTOWnGLuC")
	if err != nil {
		fmt.Println(err)
		return
	}
	m := id.Mixed()
	fmt.Println(id.Brand, id.Snowflake)
	fmt.Println(m.Placement(), m.Residue())

	back := placement.Join(234878118, 1045265647).Snowflake()
	fmt.Println(placement.BrandedID{Brand: id.Brand, Snowflake: back})
	// Output:
	// USR 274557032793636864
	// 234878118 1045265647
	// USR0KHTOWnGLuC
}

// A program that does not know beforehand which ids it will meet goes by kind.
func ExampleKind_Parse() {
	for _, id := range []struct {
		kind placement.Kind
		text string
	}{
		{placement.Branded, "PLR0KHTOWnGLuC"},
		{placement.String, "0f8fad5b-d9cb-469f-a165-70867728950e"},
		{placement.Number, "23570"},
	} {
		brand, m, err := id.kind.Parse(id.text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%-7v %-3v %10d %10d\n", id.kind, brand, m.Placement(), m.Residue())
	}
	// Output:
	// branded PLR  234878118 1045265647
	// string      3105485840  537628451
	// number           23570          0
}

func ExampleKind_Format() {
	brand, m, _ := placement.Branded.Parse("USR0KHTOWnGLuC")
	fmt.Println(placement.Branded.Format(brand, m))

	brand, m, _ = placement.Number.Parse("23570")
	fmt.Println(placement.Number.Format(brand, m))

	_, ok := placement.String.Format(placement.Brand{}, placement.MixString("user-1"))
	fmt.Println(ok)
	// Output:
	// USR0KHTOWnGLuC true
	// 23570 true
	// false
}

func ExampleInvalidIDError() {
	_, err := placement.ParseBranded("USR0KHTOWnGLu")
	fmt.Println(err)
	fmt.Println(errors.Is(err, placement.ErrInvalidID))

	_, err = placement.ParseNumber("4294967296")
	fmt.Println(err)
	// Output:
	// id "USR0KHTOWnGLu": has 13 characters, a branded id has 14
	// true
	// id "4294967296": is 2^32 or more; use string ids for numbers this large
}

func ExampleExpectedColliding() {
	for _, n := range []float64{1e6, 1e7, 1e8} {
		lost := placement.ExpectedColliding(n)
		fmt.Printf("%.0f ids: a count loses %.0f (%.3f %%)\n", n, lost, 100*lost/n)
	}
	// Output:
	// 1000000 ids: a count loses 116 (0.012 %)
	// 10000000 ids: a count loses 11633 (0.116 %)
	// 100000000 ids: a count loses 1155171 (1.155 %)
}

func ExampleIDsBehind() {
	fmt.Printf("%.0f\n", placement.IDsBehind(10_000_000))
	// Output: 10011660
}

func ExampleExpectedFalseOverlap() {
	fmt.Printf("%.0f\n", placement.ExpectedFalseOverlap(1e7, 1e7))
	// Output: 23283
}
