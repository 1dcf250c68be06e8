package io.rdmaraw.examples.http;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.handler.codec.http3.Http3;
import io.netty.handler.codec.http3.Http3FrameToHttpObjectCodec;
import io.netty.handler.codec.http3.Http3ServerConnectionHandler;
import io.netty.handler.codec.quic.InsecureQuicTokenHandler;
import io.netty.handler.codec.quic.Quic;
import io.netty.handler.codec.quic.QuicChannel;
import io.netty.handler.codec.quic.QuicSslContext;
import io.netty.handler.codec.quic.QuicSslContextBuilder;
import io.netty.handler.codec.quic.QuicStreamChannel;
import io.netty.pkitesting.X509Bundle;
import io.rdmaraw.examples.server.ExampleException;
import io.rdmaraw.examples.server.ServerCommand;
import picocli.CommandLine.Command;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A server for HTTP/3. Netty's QUIC codec is a handler of a datagram channel, so it works on any transport. */
@Command(name = "http3", mixinStandardHelpOptions = true, description = "HTTP/3 server.")
public final class Http3Server extends ServerCommand {
    private static final int PORT = 8443;
    private static final long IDLE_TIMEOUT_SECONDS = 30;
    private static final long CONNECTION_WINDOW_BYTES = 1 << 24;
    private static final long STREAM_WINDOW_BYTES = 1 << 20;
    private static final long MAX_STREAMS = 100;

    @Override
    protected int defaultPort() {
        return PORT;
    }

    @Override
    protected List<Channel> open(EventLoopGroup group, InetSocketAddress local) throws Exception {
        if (!Quic.isAvailable()) {
            throw new ExampleException("QUIC cannot be used here: " + Quic.unavailabilityCause().getMessage());
        }
        X509Bundle certificate = Certificate.selfSigned(local.getAddress());
        QuicSslContext tls = QuicSslContextBuilder
                .forServer(certificate.getKeyPair().getPrivate(), null, certificate.getCertificatePath())
                .applicationProtocols(Http3.supportedApplicationProtocols()).build();
        return bind(group, local, () -> quic(tls));
    }

    private static ChannelHandler quic(QuicSslContext tls) {
        return Http3.newQuicServerCodecBuilder().sslContext(tls)
                .maxIdleTimeout(IDLE_TIMEOUT_SECONDS, TimeUnit.SECONDS)
                .initialMaxData(CONNECTION_WINDOW_BYTES)
                .initialMaxStreamDataBidirectionalLocal(STREAM_WINDOW_BYTES)
                .initialMaxStreamDataBidirectionalRemote(STREAM_WINDOW_BYTES)
                .initialMaxStreamsBidirectional(MAX_STREAMS)
                // Accepts clients without an address token. A public server would use signed tokens.
                .tokenHandler(InsecureQuicTokenHandler.INSTANCE)
                .handler(new ChannelInitializer<QuicChannel>() {
                    @Override
                    protected void initChannel(QuicChannel connection) {
                        connection.pipeline().addLast(new Http3ServerConnectionHandler(requests()));
                    }
                }).build();
    }

    private static ChannelHandler requests() {
        return new ChannelInitializer<QuicStreamChannel>() {
            @Override
            protected void initChannel(QuicStreamChannel stream) {
                stream.pipeline().addLast(new Http3FrameToHttpObjectCodec(true));
                SiteHandler.addTo(stream.pipeline());
            }
        };
    }
}
