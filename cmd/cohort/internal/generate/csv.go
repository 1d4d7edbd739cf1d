package generate

import (
	"bufio"
	"context"
	"io"
	"iter"
	"time"
)

// checkRows is after how many rows it is checked whether the context has ended.
const checkRows = 4096

// WriteCSV writes rows as CSV with the header id,event,time, the time to the
// second as 2026-01-30T10:15:00Z, and returns how many rows it wrote. It ends early
// with the error of w, or of the context when that ends. No field needs quotes: ids
// are letters and digits, and events words.
func WriteCSV(ctx context.Context, w io.Writer, rows iter.Seq[Row]) (n int, err error) {
	out := bufio.NewWriterSize(w, 64<<10)
	if _, err := out.WriteString("id,event,time\n"); err != nil {
		return 0, err
	}
	var line []byte
	for row := range rows {
		if n%checkRows == 0 && ctx.Err() != nil {
			return n, ctx.Err()
		}
		line = append(append(line[:0], row.ID...), ',')
		line = append(append(line, row.Event...), ',')
		line = append(row.Time.AppendFormat(line, time.RFC3339), '\n')
		if _, err := out.Write(line); err != nil {
			return n, err
		}
		n++
	}
	return n, out.Flush()
}
