<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>
<qgis version="3.22" styleCategories="Symbology">
  <pipe>
    <rasterrenderer type="singlebandpseudocolor" band="1" opacity="1" alphaBand="-1"
        classificationMin="-10000" classificationMax="10000">
      <rasterTransparency>
        <singleValuePixelList>
          <pixelListEntry min="0" max="0" percentTransparent="100"/>
        </singleValuePixelList>
      </rasterTransparency>
      <rastershader>
        <colorrampshader colorRampType="DISCRETE" classificationMode="1" clip="0"
            minimumValue="-10000" maximumValue="10000">
          <item value="-1e-09" label="below 0" color="#a6bddb" alpha="255"/>
          <item value="0" label="0" color="#000000" alpha="0"/>
          <item value="10" label="0 – 10" color="#fecf92" alpha="255"/>
          <item value="30" label="10 – 30" color="#fe9f6d" alpha="255"/>
          <item value="100" label="30 – 100" color="#f7705c" alpha="255"/>
          <item value="300" label="100 – 300" color="#de4968" alpha="255"/>
          <item value="1000" label="300 – 1,000" color="#b73779" alpha="255"/>
          <item value="3000" label="1,000 – 3,000" color="#8c2981" alpha="255"/>
          <item value="10000" label="3,000 – 10,000" color="#641a80" alpha="255"/>
          <item value="inf" label="10,000 or more" color="#3b0f70" alpha="255"/>
        </colorrampshader>
      </rastershader>
    </rasterrenderer>
  </pipe>
</qgis>
