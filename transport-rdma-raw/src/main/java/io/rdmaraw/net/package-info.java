/**
 * What the layers above know of IP hosts: addresses, links, routes, neighbours, fragments. Knows neither Netty's
 * channels nor event loops.
 */
package io.rdmaraw.net;
