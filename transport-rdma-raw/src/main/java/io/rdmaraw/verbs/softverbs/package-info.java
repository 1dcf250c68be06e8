/**
 * What softverbs offers beyond the verbs ABI: counters of its devices and the injection of faults.
 */
package io.rdmaraw.verbs.softverbs;
