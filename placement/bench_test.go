package placement_test

import (
	"testing"

	"cohort/placement"
)

func BenchmarkParse(b *testing.B) {
	for _, bench := range []struct {
		name string
		kind placement.Kind
		id   string
	}{
		{"branded", placement.Branded, "USR0KHTOWnGLuC"},
		{"uuid", placement.String, "0f8fad5b-d9cb-469f-a165-70867728950e"},
		{"cyrillic", placement.String, "пользователь-42"},
		{"number", placement.Number, "274557032"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			var sum uint32
			for b.Loop() {
				_, m, err := bench.kind.Parse(bench.id)
				if err != nil {
					b.Fatal(err)
				}
				sum += m.Placement()
			}
		})
	}
}

func BenchmarkAppendFormat(b *testing.B) {
	for _, bench := range []struct {
		kind placement.Kind
		id   string
	}{
		{placement.Branded, "USR0KHTOWnGLuC"},
		{placement.Number, "274557032"},
	} {
		b.Run(bench.kind.String(), func(b *testing.B) {
			b.ReportAllocs()
			brand, m, err := bench.kind.Parse(bench.id)
			if err != nil {
				b.Fatal(err)
			}
			buf := make([]byte, 0, 64)
			for b.Loop() {
				if out, ok := bench.kind.AppendFormat(buf, brand, m); !ok || len(out) != len(bench.id) {
					b.Fatal("no id")
				}
			}
		})
	}
}

func BenchmarkExpectedColliding(b *testing.B) {
	for b.Loop() {
		placement.ExpectedColliding(1e7)
	}
}

func BenchmarkCheckFrozen(b *testing.B) {
	for b.Loop() {
		if err := placement.CheckFrozen(); err != nil {
			b.Fatal(err)
		}
	}
}
