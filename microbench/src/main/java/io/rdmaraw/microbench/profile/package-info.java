/**
 * Implements {@code profile}, which shows how the event loops spend their time. A
 * {@link io.rdmaraw.microbench.profile.Load} is a process with busy loops. A
 * {@link io.rdmaraw.microbench.profile.Profiler} samples it, and {@link io.rdmaraw.microbench.profile.Costs} sums up
 * the samples by layer and by method.
 */
package io.rdmaraw.microbench.profile;
