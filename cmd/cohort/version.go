package main

import (
	"context"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the version",
		Example: example("cohort version"),
		Args:    cobra.NoArgs,
		RunE: a.do(func(context.Context, *cobra.Command, []string) error {
			version, compiler := "unknown", "unknown"
			if info, ok := debug.ReadBuildInfo(); ok {
				compiler = info.GoVersion
				if info.Main.Version != "" {
					version = info.Main.Version
				}
			}
			if !a.json && !a.csv {
				return writeLine(a.out, "cohort "+version+" "+compiler)
			}
			g := &grid{head: []string{"version", "go"}}
			g.add(version, compiler)
			return a.write(map[string]string{"version": version, "go": compiler}, g)
		}),
	}
}
