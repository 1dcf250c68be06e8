package io.rdmaraw.examples.http;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoopGroup;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2SecurityUtil;
import io.netty.handler.codec.http2.Http2StreamFrameToHttpObjectCodec;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolConfig.Protocol;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectedListenerFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectorFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ApplicationProtocolNegotiationHandler;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.handler.ssl.SupportedCipherSuiteFilter;
import io.netty.pkitesting.X509Bundle;
import io.rdmaraw.examples.server.ServerCommand;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.net.InetSocketAddress;
import java.util.List;

/** A server for HTTP/2 over TLS. Clients without HTTP/2 negotiate HTTP/1.1 with ALPN. */
@Command(name = "http2", mixinStandardHelpOptions = true, description = "HTTP/2 and HTTP/1.1 server with TLS.")
public final class Http2Server extends ServerCommand {
    private static final int PORT = 8443;

    @Option(names = "--engine", paramLabel = "ENGINE", converter = TlsEngine.Name.class,
            description = "who does TLS: jdk, or openssl, which takes netty-tcnative on the class path (openssl where"
                    + " it is there)")
    private TlsEngine engine;

    @Override
    protected int defaultPort() {
        return PORT;
    }

    @Override
    protected List<Channel> open(EventLoopGroup group, InetSocketAddress local) throws Exception {
        SslContext tls = tls(Certificate.selfSigned(local.getAddress()), TlsEngine.provider(engine));
        return List.of(listen(group, local, new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel connection) {
                connection.pipeline().addLast(tls.newHandler(connection.alloc()), new Negotiation());
            }
        }));
    }

    private static SslContext tls(X509Bundle certificate, SslProvider provider) throws Exception {
        return SslContextBuilder.forServer(certificate.toKeyManagerFactory()).sslProvider(provider)
                .ciphers(Http2SecurityUtil.CIPHERS, SupportedCipherSuiteFilter.INSTANCE)
                .applicationProtocolConfig(new ApplicationProtocolConfig(Protocol.ALPN,
                        SelectorFailureBehavior.NO_ADVERTISE, SelectedListenerFailureBehavior.ACCEPT,
                        ApplicationProtocolNames.HTTP_2, ApplicationProtocolNames.HTTP_1_1))
                .build();
    }

    private static final class Negotiation extends ApplicationProtocolNegotiationHandler {
        Negotiation() {
            super(ApplicationProtocolNames.HTTP_1_1);
        }

        @Override
        protected void configurePipeline(ChannelHandlerContext ctx, String protocol) {
            if (protocol.equals(ApplicationProtocolNames.HTTP_2)) {
                addHttp2Handlers(ctx.pipeline());
            } else {
                HttpServer.addHandlers(ctx.pipeline());
            }
        }

        /** Closes the connection. Browsers that do not trust the certificate abort the handshake. */
        @Override
        protected void handshakeFailure(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }

    private static void addHttp2Handlers(ChannelPipeline pipeline) {
        pipeline.addLast(Http2FrameCodecBuilder.forServer().build());
        pipeline.addLast(new Http2MultiplexHandler(new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel stream) {
                stream.pipeline().addLast(new Http2StreamFrameToHttpObjectCodec(true));
                SiteHandler.addTo(stream.pipeline());
            }
        }));
    }
}
