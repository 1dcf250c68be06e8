package smoke;

import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandler;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import reactor.blockhound.BlockHound;

/** As {@link Smoke}, while BlockHound looks for calls that block an event loop; prints how many it has found. */
public final class UnderBlockHound {
    private static final Queue<Throwable> FOUND = new ConcurrentLinkedQueue<>();

    private UnderBlockHound() {
    }

    public static void main(String[] args) throws Exception {
        // Netty's integration comes with it and knows the threads of loops. docs/lab/release.md says why.
        BlockHound.install(builder -> builder.allowBlockingCallsInside("io.rdmaraw.channel.RdmaRawIoHandler", "spin")
                .allowBlockingCallsInside("io.rdmaraw.queue.DirectRingDrivers", "load")
                .allowBlockingCallsInside("io.rdmaraw.verbs.objects.VerbsObject", "close")
                .allowBlockingCallsInside("io.rdmaraw.verbs.objects.QueuePair", "createFlow")
                .allowBlockingCallsInside("java.security.SecureRandom", "nextBytes").blockingMethodCallback(
                method -> FOUND.add(new IllegalStateException(method + " on " + Thread.currentThread().getName()))));
        requireThatASleepIsFound();
        Smoke.main(args);
        FOUND.forEach(Throwable::printStackTrace);
        System.out.println(FOUND.size() + " calls block a loop");
        System.exit(FOUND.isEmpty() ? 0 : 1);
    }

    private static void requireThatASleepIsFound() throws Exception {
        RdmaRawIoHandlerConfig config = RdmaRawIoHandlerConfig.builder().device("soft:loop").build();
        var group = new MultiThreadIoEventLoopGroup(1, RdmaRawIoHandler.newFactory(config));
        group.submit(() -> {
            Thread.sleep(1);
            return null;
        }).sync();
        group.shutdownGracefully(0, 1, TimeUnit.MINUTES).sync();
        if (FOUND.stream().noneMatch(each -> each.getMessage().contains("Thread.sleep"))) {
            throw new IllegalStateException("BlockHound does not find a loop that sleeps: " + FOUND);
        }
        FOUND.removeIf(each -> each.getMessage().contains("Thread.sleep"));
    }
}
