/** Integration of the transport with Lettuce. */
package io.rdmaraw.lettuce;
