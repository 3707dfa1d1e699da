package cli

import (
	"github.com/spf13/cobra"

	"reckon.dev/reckon/drills"
)

func newSchema(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of drill files",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			schema, err := drills.Schema()
			if err != nil {
				return err
			}
			return encode(a.Out, schema)
		},
	}
}
