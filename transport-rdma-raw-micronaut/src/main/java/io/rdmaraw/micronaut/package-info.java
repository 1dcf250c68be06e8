/** Integration of the transport with Micronaut. */
package io.rdmaraw.micronaut;
