package kernel

import "encoding/binary"

// Append appends an expression's set within the chunk in roaring's portable
// serialization, without runs; nothing where it is empty.
func (e *Evaluator) Append(to []byte, x *Expr) []byte {
	var made []container
	var heads, body []byte
	u := x.first()
	for key := range u.n {
		if x.absent(key) {
			continue
		}
		e.begin()
		c := e.one(e.operand(x, key))
		if c.card == 0 {
			continue
		}
		heads = binary.LittleEndian.AppendUint16(heads, uint16(u.base>>16)+uint16(key))
		heads = binary.LittleEndian.AppendUint16(heads, uint16(c.card-1))
		made = append(made, container{card: c.card, data: c.data}) // for its length
		body = append(body, c.data...)
	}
	if len(made) == 0 {
		return to
	}
	to = binary.LittleEndian.AppendUint32(to, cookieNoRuns)
	to = binary.LittleEndian.AppendUint32(to, uint32(len(made)))
	to = append(to, heads...)
	at := uint32(8 + 8*len(made))
	for _, c := range made {
		to = binary.LittleEndian.AppendUint32(to, at)
		at += uint32(len(c.data))
	}
	return append(to, body...)
}

// one returns the union of a list as one array, up to 4096 positions, or bitset.
func (e *Evaluator) one(list []container) container {
	if len(list) == 0 {
		return container{}
	}
	if len(list) == 1 && (list[0].kind == array || list[0].kind == bitmap && list[0].card > ArrayMax) {
		return list[0]
	}
	e.start(list, 1)
	return e.take()
}
