package io.rdmaraw.ffi;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/** The version of these classes. Also detects several versions on the class path. */
public final class TransportVersion {
    public static final String UNKNOWN = "unknown";

    static final String RESOURCE = "version.properties";

    private TransportVersion() {
    }

    /** Returns the version, such as {@code 1.2.3}, or {@link #UNKNOWN} if its resource is missing. */
    public static String get() {
        URL resource = TransportVersion.class.getResource(RESOURCE);
        return resource == null ? UNKNOWN : read(resource);
    }

    /**
     * Returns the locations of the transport on the class path with their versions, or null if all have the
     * same version. With several versions, the order of the jars determines which classes are used. Not needed
     * on the module path, which permits only one.
     */
    public static Map<String, String> conflict() {
        Map<String, String> versions = new LinkedHashMap<>();
        try {
            String resource = TransportVersion.class.getPackageName().replace('.', '/') + "/" + RESOURCE;
            for (URL location : locations(TransportVersion.class.getClassLoader(), resource)) {
                String url = location.toString();
                versions.put(url.substring(0, url.length() - resource.length()), read(location));
            }
        } catch (IOException e) {
            return null;
        }
        return versions.values().stream().distinct().count() > 1 ? versions : null;
    }

    static List<URL> locations(ClassLoader loader, String resource) throws IOException {
        return Collections.list(loader.getResources(resource));
    }

    private static String read(URL resource) {
        Properties properties = new Properties();
        try (InputStream in = resource.openStream()) {
            properties.load(in);
        } catch (IOException e) {
            // The version remains unknown.
        }
        return properties.getProperty("version", UNKNOWN);
    }
}
