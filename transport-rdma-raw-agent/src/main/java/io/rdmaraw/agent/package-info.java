/**
 * A Java agent that moves unmodified programs from Netty's own transports to this one:
 * {@code -javaagent:netty-transport-rdma-raw-agent.jar=device=soft:xdp:eth0,listen=8080}.
 *
 * <p>Netty has no lookup mechanism for transports: programs refer to channel classes and event loop factories in their
 * code. Therefore the agent rewrites such programs when they are loaded ({@link io.rdmaraw.agent.CallerRewriter}). The
 * replacement of a class or constructor is selected when the code first runs ({@link io.rdmaraw.agent.Replacements}):
 * the transport's class if it is available ({@link io.rdmaraw.agent.LoadedTransport}), otherwise the original one.
 */
package io.rdmaraw.agent;
