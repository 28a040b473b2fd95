// Go-client starts the workflow conversionJob by its name, waits for it, and tells how it ended:
//
//	go run . APP SOURCE_URI DESTINATION_URI
//
// It prints the SHA-256 of the converted file, or the error code of the job and what to do.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/temporal"
)

// Job is the part of ConversionJobInput that this program uses; docs/embedding/schemas.json has all of it.
type Job struct {
	App         string `json:"app"`
	Source      Source `json:"source"`
	Output      string `json:"output"`
	Destination string `json:"destination"`
	OnExisting  string `json:"onExisting"`
}

type Source struct {
	URI string `json:"uri"`
}

// Result is the part of ConversionJobResult that this program uses.
type Result struct {
	Status string `json:"status"`
	Output struct {
		URI    string `json:"uri"`
		SHA256 string `json:"sha256"`
	} `json:"output"`
}

// FailureDetails is the first detail of a job's failure, the part of ConversionFailureDetails that this program uses.
type FailureDetails struct {
	Code   string `json:"code"`
	Phase  string `json:"phase"`
	Charge string `json:"charge"`
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: go run . APP SOURCE_URI DESTINATION_URI")
		os.Exit(2)
	}
	job := Job{
		App:         os.Args[1],
		Source:      Source{URI: os.Args[2]},
		Output:      "pdf",
		Destination: os.Args[3],
		OnExisting:  "overwrite",
	}
	result, err := convert(context.Background(), job)
	if err != nil {
		explain(err)
		os.Exit(1)
	}
	fmt.Println(result.Output.SHA256)
}

func convert(ctx context.Context, job Job) (Result, error) {
	var result Result
	options, err := envconfig.LoadDefaultClientOptions() // TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, ...
	if err != nil {
		return result, err
	}
	temporalClient, err := client.Dial(options)
	if err != nil {
		return result, err
	}
	defer temporalClient.Close()
	run, err := temporalClient.ExecuteWorkflow(ctx, startOptions(job), "conversionJob", job)
	if err != nil {
		return result, err
	}
	return result, run.Get(ctx, &result)
}

// Without the search attributes the job runs as well, but `fileconv job list` does not find it by its app.
func startOptions(job Job) client.StartWorkflowOptions {
	name := path.Base(job.Source.URI)
	keyword := temporal.NewSearchAttributeKeyKeyword
	return client.StartWorkflowOptions{
		ID:            "go-client/" + name,
		TaskQueue:     taskQueue(),
		StaticSummary: name + " → " + job.Output,
		TypedSearchAttributes: temporal.NewSearchAttributes(
			keyword("ConversionApp").ValueSet(job.App),
			keyword("ConversionStatus").ValueSet("running"),
			keyword("ConversionOutputFormat").ValueSet(job.Output),
		),
	}
}

func taskQueue() string {
	if name := os.Getenv("FILECONV_WORKER_TASK_QUEUE"); name != "" {
		return name
	}
	return "file-conversion"
}

// The type of a job's failure is its error code; the message says what to do, and the details what was charged.
func explain(err error) {
	var failure *temporal.ApplicationError
	if !errors.As(err, &failure) {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", failure.Type(), failure.Message())
	var details FailureDetails
	if failure.Details(&details) == nil {
		fmt.Fprintf(os.Stderr, "phase %s, charged: %s\n", details.Phase, details.Charge)
	}
}
