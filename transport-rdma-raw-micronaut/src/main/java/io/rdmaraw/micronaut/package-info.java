/** The transport for Micronaut. */
package io.rdmaraw.micronaut;
