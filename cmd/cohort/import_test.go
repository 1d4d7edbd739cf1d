package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestImportScripts runs testdata/import. Beside the commands of the other
// scripts there are "pack FROM TO", which compresses as TO is named, "cut FILE N",
// which keeps the first N bytes, or all but the last N where N is negative, and
// "temporary", which checks that the folder for temporary files is empty.
func TestImportScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/import",
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			setScript(env)
			env.Setenv("TMPDIR", env.WorkDir+"/tmp")
			return os.MkdirAll(env.WorkDir+"/tmp", 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":    cmdStatus,
			"keys":      cmdKeys,
			"oneline":   cmdOneLine,
			"pack":      cmdPack,
			"cut":       cmdCut,
			"temporary": cmdTemporary,
		},
	})
}

func cmdPack(ts *testscript.TestScript, _ bool, args []string) {
	var out bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&out)
	if !strings.HasSuffix(args[1], ".gz") {
		var err error
		w, err = zstd.NewWriter(&out)
		ts.Check(err)
	}
	_, err := io.WriteString(w, ts.ReadFile(args[0]))
	ts.Check(errors.Join(err, w.Close()))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), out.Bytes(), 0o600))
}

func cmdCut(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	path := ts.MkAbs(args[0])
	if n < 0 {
		n += len(ts.ReadFile(args[0]))
	}
	ts.Check(os.Truncate(path, int64(n)))
}

func cmdTemporary(ts *testscript.TestScript, _ bool, _ []string) {
	list, err := os.ReadDir(ts.Getenv("TMPDIR"))
	ts.Check(err)
	for _, f := range list {
		ts.Fatalf("%s is left", f.Name())
	}
}
