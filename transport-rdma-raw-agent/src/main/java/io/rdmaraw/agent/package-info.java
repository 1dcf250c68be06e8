/**
 * A Java agent that puts programs written for Netty's own transports on this one, without a change to them:
 * {@code -javaagent:netty-transport-rdma-raw-agent.jar=device=soft:xdp:eth0,listen=8080}.
 *
 * <p>Netty looks no transport up: its users name classes of channels and factories of loops in their code. So the agent
 * rewrites those users as they are loaded ({@link io.rdmaraw.agent.CallerRewriter}). What stands in place of a class or
 * constructor is decided when the code first runs ({@link io.rdmaraw.agent.Replacements}): the transport's if it works
 * there ({@link io.rdmaraw.agent.LoadedTransport}), else the original.
 */
package io.rdmaraw.agent;
