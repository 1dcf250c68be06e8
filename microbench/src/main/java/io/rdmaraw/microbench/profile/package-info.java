/**
 * {@code profile}: where the time of the event loops goes. A {@link io.rdmaraw.microbench.profile.Load} is a process
 * with loops that have something to do, a {@link io.rdmaraw.microbench.profile.Profiler} takes samples of it, and
 * {@link io.rdmaraw.microbench.profile.Costs} sums them up by layer and by method.
 */
package io.rdmaraw.microbench.profile;
