package io.rdmaraw.tools.top;

import java.io.IOException;
import java.io.ObjectInputFilter;
import java.net.MalformedURLException;
import javax.management.remote.JMXServiceURL;

/**
 * What is believed of a process that is attached to. Root looks into the containers of others by these tools, and what
 * runs there may be hostile: its management agent chooses the URL and every object that is read from it.
 */
final class ManagementReplies {
    /**
     * The classes of JMX over RMI and of open types (JSR 160, {@code javax.management.openmbean}), and nothing that a
     * program brings along.
     */
    static final ObjectInputFilter FILTER = ObjectInputFilter.Config.createFilter(
            "maxdepth=40;maxarray=1000000;maxrefs=10000000;maxbytes=268435456;"
                    + "!javax.management.BadAttributeValueExpException;java.lang.*;java.util.*;java.math.*;java.rmi.**;"
                    + "sun.rmi.**;javax.management.**;!*");

    private ManagementReplies() {
    }

    /** Has all objects that this process reads looked at, unless its user has said how by {@code jdk.serialFilter}. */
    static synchronized void restrict() {
        if (ObjectInputFilter.Config.getSerialFilter() == null) {
            ObjectInputFilter.Config.setSerialFilter(FILTER);
        }
    }

    /**
     * Returns the URL of a local management agent.
     *
     * @throws IOException when it names another host or a directory to look into: a local agent's URL has its stub
     */
    static JMXServiceURL localAgent(String text) throws IOException {
        JMXServiceURL url;
        try {
            url = new JMXServiceURL(text);
        } catch (MalformedURLException | NullPointerException e) {
            throw new IOException("its management agent has no URL");
        }
        boolean here = url.getHost().equals("127.0.0.1") || url.getHost().equals("localhost")
                || url.getHost().equals("::1");
        if (!url.getProtocol().equals("rmi") || !here || !url.getURLPath().startsWith("/stub/")) {
            throw new IOException("its management agent is not a local one: " + url.getProtocol() + " at '"
                    + url.getHost() + "'");
        }
        return url;
    }
}
