/**
 * Flow rules ({@code ibv_create_flow}), which select the frames that a queue pair receives. Start with
 * {@link io.rdmaraw.verbs.flow.FlowSpec}.
 */
package io.rdmaraw.verbs.flow;
