/** The transport for Vert.x. */
package io.rdmaraw.vertx;
