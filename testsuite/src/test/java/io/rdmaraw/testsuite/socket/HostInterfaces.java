package io.rdmaraw.testsuite.socket;

import io.netty.util.NetUtil;
import io.rdmaraw.testsuite.net.Await;
import org.junit.platform.launcher.LauncherSession;
import org.junit.platform.launcher.LauncherSessionListener;

import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.Collections;

/**
 * Makes Netty read the host's interfaces before the first test creates more. {@link NetUtil#NETWORK_INTERFACES} is read
 * once per process, and Netty's multicast tests query each of these interfaces. For an interface that a test has
 * removed since, the JDK throws an exception.
 */
public final class HostInterfaces implements LauncherSessionListener {
    @Override
    public void launcherSessionOpened(LauncherSession session) {
        // Interfaces of an earlier run stay in the list until the kernel has removed them.
        Await.until("the kernel to remove the interfaces of ended tests", HostInterfaces::allAnswer);
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
