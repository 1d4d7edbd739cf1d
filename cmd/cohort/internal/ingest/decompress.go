package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow is how far back zstd data may refer, and so the memory that reading
// it takes at most. It is what the zstd tool itself takes unasked; only data
// made with --ultra or --long needs more than 8 MiB.
const maxWindow = 128 << 20

// CompressedError says that compressed data cannot be read on.
type CompressedError struct {
	Kind  string // "gzip" or "zstd"
	Bytes int64  // of the compressed data that were read
	Err   error
}

func (e *CompressedError) Error() string {
	switch {
	case e.Err == io.ErrUnexpectedEOF:
		return fmt.Sprintf("the %s data breaks off after %d bytes", e.Kind, e.Bytes)
	case errors.Is(e.Err, zstd.ErrWindowSizeExceeded), errors.Is(e.Err, zstd.ErrDecoderSizeExceeded):
		return "the zstd data needs a window of more than 128 MiB: compress it with a smaller --long"
	}
	return fmt.Sprintf("the %s data is damaged within its first %d bytes: %v", e.Kind, e.Bytes, e.Err)
}

func (e *CompressedError) Unwrap() error { return e.Err }

// decompressor reads the text of a file that may be compressed.
type decompressor struct {
	raw  raw
	kind string // "gzip", "zstd", or "" for text as it stands
	text io.Reader
	zstd *zstd.Decoder // nil unless kind is "zstd"
}

// raw counts what is read, and keeps the error that is not the data's fault.
type raw struct {
	r   io.Reader
	n   int64
	err error
}

func (r *raw) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.n += int64(n)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// newDecompressor tells by the first bytes whether r is compressed: the marks of
// gzip and zstd begin no UTF-8 text.
func newDecompressor(r io.Reader) (*decompressor, error) {
	d := &decompressor{raw: raw{r: r}}
	in := bufio.NewReaderSize(&d.raw, 64<<10)
	d.text = in
	head, err := in.Peek(4)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		d.kind = "gzip"
		d.text, err = gzip.NewReader(in)
	case isZstd(head):
		d.kind = "zstd"
		d.zstd, err = zstd.NewReader(in,
			zstd.WithDecoderConcurrency(1), // in the goroutine that reads
			zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		d.text = d.zstd
	default:
		return d, nil
	}
	if err != nil {
		return nil, d.fault(err)
	}
	return d, nil
}

// isZstd knows a frame of zstd, and one to be skipped.
func isZstd(head []byte) bool {
	return bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}) ||
		len(head) == 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:], []byte{0x2a, 0x4d, 0x18})
}

// Read implements io.Reader.
func (d *decompressor) Read(p []byte) (int, error) {
	n, err := d.text.Read(p)
	if err != nil && err != io.EOF {
		err = d.fault(err)
	}
	return n, err
}

// fault tells the data's fault from one of reading it.
func (d *decompressor) fault(err error) error {
	switch {
	case d.raw.err != nil:
		return d.raw.err
	case d.kind == "":
		return err
	case err == io.EOF: // within the first header
		err = io.ErrUnexpectedEOF
	}
	return &CompressedError{d.kind, d.raw.n, err}
}

// Close gives the decoder's memory back.
func (d *decompressor) Close() {
	if d.zstd != nil {
		d.zstd.Close()
	}
}
