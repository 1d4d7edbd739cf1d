package kernel

// pages hands out small pieces of memory that are given back all together.
type pages struct {
	all [][]byte
	n   int // pages in use, of which the last is cut
}

const pageSize = 8 * bitsetBytes

// take returns an empty slice with a capacity of n bytes, at most bitsetBytes.
func (p *pages) take(n int) []byte {
	if p.n == 0 || cap(p.all[p.n-1])-len(p.all[p.n-1]) < n {
		if p.n == len(p.all) {
			p.all = append(p.all, make([]byte, 0, pageSize))
		}
		p.n++
	}
	page := &p.all[p.n-1]
	at := len(*page)
	*page = (*page)[:at+n]
	return (*page)[at : at : at+n]
}

// reset takes all memory back.
func (p *pages) reset() {
	for i := range p.n {
		p.all[i] = p.all[i][:0]
	}
	p.n = 0
}
