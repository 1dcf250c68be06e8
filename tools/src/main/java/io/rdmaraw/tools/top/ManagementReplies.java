package io.rdmaraw.tools.top;

import java.io.IOException;
import java.io.ObjectInputFilter;
import java.net.MalformedURLException;
import javax.management.remote.JMXServiceURL;

/**
 * Validates the replies of the attached process. Root uses these tools on containers of others, which may run hostile
 * programs: the process controls the URL of its management agent and every object that is read from it.
 */
final class ManagementReplies {
    /**
     * Permits the classes of JMX over RMI and of open types (JSR 160, {@code javax.management.openmbean}). All classes
     * of applications are rejected.
     */
    static final ObjectInputFilter FILTER = ObjectInputFilter.Config.createFilter(
            "maxdepth=40;maxarray=8388608;maxrefs=10000000;maxbytes=268435456;"
                    + "!javax.management.BadAttributeValueExpException;java.lang.*;java.util.*;java.math.*;java.rmi.**;"
                    + "sun.rmi.**;javax.management.**;!*");

    private ManagementReplies() {
    }

    /**
     * Installs the filter for all objects deserialized by this process, unless the user has set
     * {@code jdk.serialFilter}.
     */
    static synchronized void restrict() {
        if (ObjectInputFilter.Config.getSerialFilter() == null) {
            ObjectInputFilter.Config.setSerialFilter(FILTER);
        }
    }

    /**
     * Parses the URL of a local management agent.
     *
     * @throws IOException if the URL names another host or an RMI registry; the URL of a local agent contains its stub
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
