// Package document writes runs as documents: JUnit XML for CI systems, Markdown for a job summary
// or a comment, and a page of HTML for a browser.
package document
