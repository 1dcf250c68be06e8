package io.rdmaraw.testsuite.socket;

import io.netty.util.NetUtil;
import io.rdmaraw.testsuite.net.Await;
import org.junit.platform.launcher.LauncherSession;
import org.junit.platform.launcher.LauncherSessionListener;

import java.net.NetworkInterface;
import java.net.SocketException;
import java.time.Duration;
import java.util.Collections;

/**
 * Has Netty read the host's interfaces before the first test makes some. {@link NetUtil#NETWORK_INTERFACES} is read
 * once in a process and never again, and Netty's multicast tests ask each interface of it whether it is up: for one
 * that a test has removed meanwhile the JDK throws, however long one waits.
 */
public final class HostInterfaces implements LauncherSessionListener {
    private static final Duration REMOVAL_LIMIT = Duration.ofSeconds(20);

    @Override
    public void launcherSessionOpened(LauncherSession session) {
        // Those of an earlier run's tests stay listed until the kernel has taken them down.
        Await.until("the kernel to remove the interfaces of ended tests", REMOVAL_LIMIT, HostInterfaces::allAnswer);
        NetUtil.NETWORK_INTERFACES.size();
    }

    private static boolean allAnswer() {
        try {
            for (NetworkInterface listed : Collections.list(NetworkInterface.getNetworkInterfaces())) {
                listed.isUp();
            }
            return true;
        } catch (SocketException e) {
            return false;
        }
    }
}
