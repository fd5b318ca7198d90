// Package document writes runs as documents. They are JUnit XML for CI systems, Markdown for a job summary or a
// comment, and a page of HTML for a browser.
package document
