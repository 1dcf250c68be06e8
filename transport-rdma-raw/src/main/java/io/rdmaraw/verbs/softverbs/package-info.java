/**
 * Extensions of softverbs beyond the verbs ABI: counters of its devices, and reception of packets larger than
 * the MTU.
 */
package io.rdmaraw.verbs.softverbs;
