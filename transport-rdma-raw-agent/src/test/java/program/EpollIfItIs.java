package program;

import static program.Echo.print;

import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;

/** Calls a method of epoll's channels only after checking that the channel is one of them. */
@SuppressWarnings("deprecation") // most programs create groups in this way
public final class EpollIfItIs {
    private EpollIfItIs() {
    }

    @ChannelHandler.Sharable
    private static final class Information extends ChannelInboundHandlerAdapter {
        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            if (ctx.channel() instanceof EpollSocketChannel channel && channel.tcpInfo().sndMss() == 0) {
                throw new IllegalStateException("no segments");
            }
            ctx.fireChannelActive();
        }
    }

    public static void main(String[] args) throws Exception {
        EventLoopGroup group = new EpollEventLoopGroup(1);
        print("echo", Echo.between(group, EpollServerSocketChannel.class, EpollSocketChannel.class,
                new Information()));
        Echo.end(group);
        System.out.println("done");
    }
}
