/** Integration of the transport with Vert.x. */
package io.rdmaraw.vertx;
