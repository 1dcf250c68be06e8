/**
 * What softverbs offers beyond the verbs ABI: the counters of its devices, and receiving frames beyond the MTU.
 */
package io.rdmaraw.verbs.softverbs;
