/**
 * What softverbs offers beyond the verbs ABI: the counters of its devices.
 */
package io.rdmaraw.verbs.softverbs;
