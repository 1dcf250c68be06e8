package program;

import static program.Echo.print;

import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;

/** Calls methods that only epoll's channels have. A second class passes the group on. */
@SuppressWarnings("deprecation") // most programs create groups in this way
public final class EpollOnly {
    private final EpollEventLoopGroup group = new EpollEventLoopGroup(1);

    @ChannelHandler.Sharable
    private static final class Information extends ChannelInboundHandlerAdapter {
        private volatile boolean hasSegments;

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            EpollSocketChannel channel = (EpollSocketChannel) ctx.channel();
            channel.config().setTcpQuickAck(true);
            hasSegments = channel.tcpInfo().sndMss() > 0;
            ctx.fireChannelActive();
        }
    }

    /** A second class with a method that returns the epoll group. */
    private static final class Caller {
        static EpollEventLoopGroup group(EpollOnly owner) {
            return owner.group();
        }
    }

    EpollEventLoopGroup group() {
        return group;
    }

    public static void main(String[] args) throws Exception {
        EpollOnly owner = new EpollOnly();
        Information information = new Information();
        print("echo", Echo.between(Caller.group(owner), EpollServerSocketChannel.class, EpollSocketChannel.class,
                information));
        print("information", information.hasSegments);
        Echo.end(owner.group);
        System.out.println("done");
    }
}
