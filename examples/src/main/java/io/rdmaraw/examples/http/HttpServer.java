package io.rdmaraw.examples.http;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoopGroup;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerKeepAliveHandler;
import io.rdmaraw.examples.server.RollingRestart;
import io.rdmaraw.examples.server.ServerCommand;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

import java.net.InetSocketAddress;
import java.util.List;

/** A server for HTTP/1.1 without TLS. Supports keep-alive and pipelining. */
@Command(name = "http", mixinStandardHelpOptions = true, description = "HTTP/1.1 server.")
public final class HttpServer extends ServerCommand {
    private static final int PORT = 8080;

    @Mixin
    private RollingRestart restart;

    @Mixin
    private ServerSettings settings;

    @Override
    protected int defaultPort() {
        return PORT;
    }

    @Override
    protected List<Channel> open(EventLoopGroup group, InetSocketAddress local) throws Exception {
        return List.of(listen(group, local, new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel connection) {
                addHandlers(connection.pipeline());
                connection.pipeline().addBefore(SiteHandler.FIRST, null, new LastResponse(restart::isDraining));
            }
        }));
    }

    @Override
    protected ServerBootstrap newBootstrap(EventLoopGroup group) {
        return settings.newBootstrap(group, this::newBossGroup);
    }

    @Override
    protected RollingRestart rollingRestart() {
        return restart;
    }

    static void addHandlers(ChannelPipeline pipeline) {
        pipeline.addLast(new HttpServerCodec());
        pipeline.addLast(new HttpServerKeepAliveHandler());
        SiteHandler.addTo(pipeline);
    }
}
