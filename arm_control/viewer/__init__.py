"""A page in the browser with which a person looks at an arm and works with it. There is no ROS in here.

The page only tells what a person wants (:mod:`.wishes`); the node ``viewer`` decides what comes of it.
"""
