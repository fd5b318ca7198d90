// Package seams holds what the tests in it check of all other packages: a component
// joins each layer at one place.
package seams
