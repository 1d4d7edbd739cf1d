package kernel

// Prefixes adds to reached, for each k, how many positions of the chunk are in all
// of the first k+1 sets, and to sizes how many are in set k. Where sizes is nil,
// sets past an empty intersection are not read.
func (e *Evaluator) Prefixes(sets []*Expr, reached, sizes []uint64) {
	for key := range sets[0].keys() {
		if sizes == nil && sets[0].absent(key) {
			continue
		}
		e.begin()
		e.prefixes(sets, key, reached, sizes)
	}
}

func (e *Evaluator) prefixes(sets []*Expr, key int, reached, sizes []uint64) {
	// All operands first: working one out takes marks, too.
	from := len(e.rows)
	for k, x := range sets {
		list := e.operand(x, key)
		if sizes != nil {
			sizes[k] += uint64(e.countUnion(list))
		} else if len(list) == 0 {
			break
		}
		e.rows = append(e.rows, list)
	}
	rows := e.rows[from:]
	for k, list := range rows {
		switch {
		case k == 0 && len(rows) == 1:
			e.current.count = e.countUnion(list)
		case k == 0:
			e.start(list, len(rows))
		default:
			e.and(list, len(rows)-k-1, false)
		}
		if e.current.count == 0 {
			return
		}
		reached[k] += uint64(e.current.count)
	}
}
