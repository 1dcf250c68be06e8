package io.rdmaraw.examples.dns;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.handler.codec.dns.DatagramDnsQueryDecoder;
import io.netty.handler.codec.dns.DatagramDnsResponseEncoder;
import io.netty.handler.codec.dns.TcpDnsQueryDecoder;
import io.netty.handler.codec.dns.TcpDnsResponseEncoder;
import io.rdmaraw.examples.server.ServerCommand;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** An authoritative name server for one zone. It serves UDP, and TCP for answers that exceed a datagram. */
@Command(name = "dns", mixinStandardHelpOptions = true, description = "Authoritative DNS server for one zone.")
public final class DnsServer extends ServerCommand {
    private static final int PORT = 5353;
    private static final int MAX_TCP_BYTES = 0xffff;
    private static final int MAX_ATTEMPTS = 10;

    @Option(names = "--zone", paramLabel = "FILE",
            description = "the zone, a master file (RFC 1035 section 5); default: example.zone, which is built in")
    private Path zoneFile;

    @Option(names = "--max-udp-bytes", paramLabel = "BYTES", defaultValue = "4096",
            description = "the longest answer by UDP, for clients that announce that they take as much (EDNS);"
                    + " default ${DEFAULT-VALUE}")
    private int maxUdpBytes;

    @Override
    protected int defaultPort() {
        return PORT;
    }

    @Override
    protected List<Channel> open(EventLoopGroup group, InetSocketAddress local)
            throws Exception {
        Zone zone = zoneFile == null ? ZoneFile.builtIn() : ZoneFile.read(zoneFile);
        Responder responder = new Responder(zone, maxUdpBytes);
        for (int attempt = 1;; attempt++) {
            List<Channel> channels = new ArrayList<>(bind(group, local, () -> udpHandlers(responder)));
            try {
                channels.add(listen(group, (InetSocketAddress) channels.getFirst().localAddress(),
                        tcpHandlers(responder)));
                return channels;
            } catch (Exception e) {
                channels.forEach(channel -> channel.close().syncUninterruptibly());
                // The port that was free for UDP is in use for TCP. If any port is acceptable, try another one.
                if (local.getPort() != 0 || attempt == MAX_ATTEMPTS) {
                    throw e;
                }
            }
        }
    }

    private static ChannelHandler udpHandlers(Responder responder) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(new DatagramDnsQueryDecoder(new QueryDecoder()),
                        new DatagramDnsResponseEncoder(new AnswerEncoder()), new UdpQueryHandler(responder));
            }
        };
    }

    private static ChannelHandler tcpHandlers(Responder responder) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel connection) {
                connection.pipeline().addLast(new TcpDnsQueryDecoder(new QueryDecoder(), MAX_TCP_BYTES),
                        new TcpDnsResponseEncoder(new AnswerEncoder()), new TcpQueryHandler(responder));
            }
        };
    }
}
