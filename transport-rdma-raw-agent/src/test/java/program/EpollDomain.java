package program;

import static program.Echo.print;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.unix.DomainSocketAddress;

import java.nio.file.Files;
import java.nio.file.Path;

/** Uses TCP and domain sockets on the same epoll group. */
@SuppressWarnings("deprecation") // most programs create groups in this way
public final class EpollDomain {
    private EpollDomain() {
    }

    public static void main(String[] args) throws Exception {
        EventLoopGroup group = new EpollEventLoopGroup(1);
        Path directory = Files.createTempDirectory("domain");
        DomainSocketAddress address = new DomainSocketAddress(directory.resolve("socket").toFile());
        Channel server = new ServerBootstrap().group(group).channel(EpollServerDomainSocketChannel.class)
                .childHandler(new ChannelInboundHandlerAdapter()).bind(address).sync().channel();
        Channel client = new Bootstrap().group(group).channel(EpollDomainSocketChannel.class)
                .handler(new ChannelInboundHandlerAdapter()).connect(address).sync().channel();
        print("domain socket", client.isActive());
        print("echo by TCP", Echo.between(group, EpollServerSocketChannel.class, EpollSocketChannel.class,
                new ChannelInboundHandlerAdapter()));
        Channel reflected = EpollSocketChannel.class.getConstructor().newInstance();
        print("by reflection", group.register(reflected).sync().isSuccess());
        reflected.close().sync();
        client.close().sync();
        server.close().sync();
        Echo.end(group);
        Files.deleteIfExists(directory.resolve("socket"));
        Files.delete(directory);
        System.out.println("done");
    }
}
