package io.rdmaraw.examples.tcp;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.rdmaraw.examples.proxy.TcpProxyHandler;
import io.rdmaraw.examples.server.ServerCommand;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.net.InetSocketAddress;
import java.util.List;

/** Forwards each connection to another server. Both sides use the same event loop. */
@Command(name = "proxy", mixinStandardHelpOptions = true, description = "TCP proxy.")
public final class ProxyServer extends ServerCommand {
    private static final int PORT = 8081;

    @Option(names = "--to", paramLabel = "IP:PORT", required = true, converter = HostAndPort.class,
            description = "the server that connections are passed on to")
    private InetSocketAddress target;

    @Override
    protected int defaultPort() {
        return PORT;
    }

    @Override
    protected List<Channel> open(EventLoopGroup group, InetSocketAddress local) throws Exception {
        return List.of(listen(group, local, new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel client) {
                prepare(client);
                // Data must not be read before the outgoing connection is established.
                client.config().setAutoRead(false);
                connect(client);
            }
        }));
    }

    private void connect(Channel client) {
        ChannelFuture connecting = new Bootstrap().group(client.eventLoop()).channel(transport().socketChannel())
                .handler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel server) {
                        prepare(server);
                        server.pipeline().addLast(new TcpProxyHandler(client));
                    }
                }).connect(target);
        client.pipeline().addLast(new TcpProxyHandler(connecting.channel()));
        connecting.addListener(future -> {
            if (future.isSuccess()) {
                client.config().setAutoRead(true);
            } else {
                client.close();
            }
        });
    }

    private static void prepare(Channel connection) {
        connection.config().setOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
    }
}
